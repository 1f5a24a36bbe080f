export { run } from "./program.ts";
