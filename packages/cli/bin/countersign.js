#!/usr/bin/env node
// Plain JavaScript, so that it can say in words what is missing before anything else is loaded.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`countersign: Node ${process.versions.node} is too old; it needs 20.19 or newer (https://nodejs.org)`);
  process.exit(1);
}

const program = new URL("../dist/program/countersign.js", import.meta.url);
if (!existsSync(fileURLToPath(program))) {
  console.error("countersign: not built yet; run `npm start` (installs, builds and serves) or `npm run build` first");
  process.exit(1);
}

const { run } = await import(program.href);
process.exitCode = await run(process.argv);
