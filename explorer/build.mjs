// Builds the page into vdr_spark/explore/static, and writes there which sources it was built from:
// tests/explore/test_bundle.py compares, without node.
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const from = new URL("src/", import.meta.url).pathname;
const to = new URL("../vdr_spark/explore/static/", import.meta.url).pathname;
const sha256 = (content) => createHash("sha256").update(content).digest("hex");

await build({
  entryPoints: [`${from}main.ts`],
  outfile: `${to}explorer.js`,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
});
await build({ entryPoints: [`${from}explorer.css`], outfile: `${to}explorer.css`, minify: true });
for (const name of ["index.html", "icon.svg"]) copyFileSync(from + name, to + name);

const sources = readdirSync(from).sort().map((name) => [name, sha256(readFileSync(from + name))]);
const built = ["explorer.css", "explorer.js", "icon.svg", "index.html"];
const files = built.map((name) => [name, sha256(readFileSync(to + name))]);
const record = { sources: Object.fromEntries(sources), files: Object.fromEntries(files) };
writeFileSync(`${to}built.json`, `${JSON.stringify(record, null, 1)}\n`);
