// Moments and numbers in words. Moments come with the offset of the release's zone, and are shown as they were written.

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** "2020-01-07T09:00:00-06:00" -> its date as people say it. */
export function day(iso: string): string {
  const [year, month, date] = iso.slice(0, 10).split("-").map(Number);
  return `${DAYS[new Date(Date.UTC(year, month - 1, date)).getUTCDay()]} ${date} ${MONTHS[month - 1]} ${year}`;
}
export const clock = (iso: string) => iso.slice(11, 16);
export const shortDay = (iso: string) => day(iso).slice(0, -5);

export function duration(seconds: number): string {
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]] as const) {
    if (seconds % length === 0) return `${seconds / length} ${unit}`;
  }
  return `${seconds} s`;
}

/** A number on a scale: three digits are enough there. */
export function rough(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(2))} M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(2))} k`;
  return String(Number(value.toPrecision(size >= 1000 ? 3 : 2)));
}

/** The numbers 1, 2, 5, 10, ... nearest below a value. */
export function nice(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([5, 2, 1].find((step) => step * power <= value * (1 + 1e-9)) ?? 1);
}
