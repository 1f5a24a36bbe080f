/** Checks of a verifier, in their order. */
export type ReceiptCheck =
  | "size"
  | "form"
  | "format"
  | "checkpoint"
  | "origin"
  | "keys"
  | "signature"
  | "trusted_key"
  | "position"
  | "leaf"
  | "intent"
  | "document"
  | "decision"
  | "registration"
  | "inclusion"
  | "ruling"
  | "assertion"
  | "consistency";

/** A check failed. */
export class Refused extends Error {
  readonly check: ReceiptCheck;
  /** The index of the entry in the log. Null: the check is not about one entry. */
  readonly entry: number | null;

  constructor(check: ReceiptCheck, message: string, entry: number | null = null) {
    super(message);
    this.check = check;
    this.entry = entry;
  }
}
