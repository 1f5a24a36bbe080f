/** A proxy for the Model Context Protocol: what an agent's tools do is decided first. */

export { governProcess, type ProcessOptions } from "./govern-process.ts";
export { LineTooLong } from "./json-lines.ts";
