/** A proxy for the Model Context Protocol that gets a decision on each tool call first. */

export { governProcess, type ProcessOptions } from "./govern-process.ts";
export { LineTooLong } from "./json-lines.ts";
