/** Keeps short secrets in the database without anybody who reads it learning them. */
export interface Sealer {
  /** The text, readable again only with the same context (what it belongs to: organization, table, row). */
  seal(text: string, context: string): string;
  /** The text that was sealed. Throws when it was sealed for another context, with another key, or was changed. */
  open(sealed: string, context: string): string;
}
