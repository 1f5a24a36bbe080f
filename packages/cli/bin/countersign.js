#!/usr/bin/env node
// Plain JavaScript, so that it can report what is missing before it loads anything else.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { whyNotThisNode } from "./required-node.mjs";

const reason = whyNotThisNode();
if (reason !== null) {
  console.error(`countersign: ${reason}`);
  process.exit(1);
}

const program = new URL("../dist/program/countersign.js", import.meta.url);
if (!existsSync(fileURLToPath(program))) {
  console.error("countersign: not built yet; run `npm start` (installs, builds and serves) or `npm run build` first");
  process.exit(1);
}

const { run } = await import(program.href);
process.exitCode = await run(process.argv);
