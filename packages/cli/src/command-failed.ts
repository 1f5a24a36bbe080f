import type { StartRefused } from "@countersign/server";

/** A failure with a one-line message for the user. Exit code 1. */
export class CommandFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandFailed";
  }
}

/** Returns true if the service refuses to start. Compares the name, because commands load the service's code late. */
export function isStartRefused(error: unknown): error is StartRefused {
  return error instanceof Error && error.name === "StartRefused";
}
