import type { StartRefused } from "@countersign/server";

/** A command cannot do what it was asked; the message is one line for the person at the terminal. Exit code 1. */
export class CommandFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandFailed";
  }
}

/** Returns true if the service refuses to start for this reason. By name, because the service's code is loaded late. */
export function isStartRefused(error: unknown): error is StartRefused {
  return error instanceof Error && error.name === "StartRefused";
}
