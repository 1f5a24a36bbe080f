import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const pass_every_ms = 1_000;

export function startFigures(runtime: Pick<Runtime, "figures" | "timers" | "log">): Loop {
  return startPasses(runtime, pass_every_ms, "counting decisions for the figures failed", runtime.figures.pass);
}
