/** A tool call that a stub model makes, once. The model answers "done" after it has read the result. */
export interface StubCall {
  readonly call_id: string;
  readonly name: string;
  readonly args: object;
}
