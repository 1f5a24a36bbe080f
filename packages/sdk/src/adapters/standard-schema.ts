/** Schemas with the interface of https://standardschema.dev, such as those of Zod and Valibot. */

export interface StandardSchema<Output> {
  readonly "~standard": {
    readonly types?: { readonly output: Output } | undefined;
    readonly validate: (value: unknown) => unknown;
  };
}

/**
 * Returns the arguments as the tool will get them, with the schema's defaults and conversions. The decision must be
 * about these. Returns invalid arguments unchanged, because the tool itself refuses them, and so those of a tool
 * without such a schema.
 */
export async function normalized(schema: unknown, args: unknown): Promise<unknown> {
  const standard = (schema as Partial<StandardSchema<unknown>> | null | undefined)?.["~standard"];
  if (standard === undefined) return args;
  const answer = (await standard.validate(args)) as { readonly value?: unknown; readonly issues?: unknown };
  return answer.issues === undefined ? answer.value : args;
}
