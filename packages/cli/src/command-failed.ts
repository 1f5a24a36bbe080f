/** A command cannot do what it was asked; the message is one line for the person at the terminal. Exit code 1. */
export class CommandFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandFailed";
  }
}
