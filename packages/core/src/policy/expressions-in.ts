import type { PolicyDocument } from "./document.ts";

/** Returns all expressions except those in messages. */
export const expressionsIn = ({ spec }: PolicyDocument): readonly string[] => {
  const steps = (spec.modify ?? []).map(({ value }) => value);
  const variables = (spec.variables ?? []).map(({ expr }) => expr);
  const sources = [spec.when, spec.require, spec.modify_when, ...steps, ...variables];
  return sources.filter((source) => source !== undefined);
};
