#!/usr/bin/env node
// Plain JavaScript, so that it can say in words what is missing before anything else is loaded.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
const first = { 20: 19, 21: Number.POSITIVE_INFINITY, 22: 2 }[major] ?? 0;
if (major < 20 || minor < first) {
  const has = process.versions.node;
  console.error(`countersign: needs Node 20.19 or a later 20, or 22.2 or newer; this is ${has} (https://nodejs.org)`);
  process.exit(1);
}

const program = new URL("../dist/program/countersign.js", import.meta.url);
if (!existsSync(fileURLToPath(program))) {
  console.error("countersign: not built yet; run `npm start` (installs, builds and serves) or `npm run build` first");
  process.exit(1);
}

const { run } = await import(program.href);
process.exitCode = await run(process.argv);
