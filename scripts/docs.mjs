/** `npm run docs` builds the site and checks its links. `npm run docs -- dev` serves it while you write. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const [command = "build", ...rest] = process.argv.slice(2);
if (command !== "build" && command !== "dev" && command !== "preview") {
  console.error("usage: npm run docs -- [build|dev|preview]");
  process.exit(1);
}
const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const args = [at("node_modules/vitepress/bin/vitepress.js"), command, at("docs"), ...rest];
spawn(process.execPath, args, { stdio: "inherit" }).once("exit", (code) => {
  process.exitCode = code ?? 1;
});
