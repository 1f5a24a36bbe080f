import type { PolicyDocument } from "./document.ts";

/** All except messages. */
export const expressionsIn = ({ spec }: PolicyDocument): readonly string[] => {
  const steps = (spec.modify ?? []).map(({ value }) => value);
  const variables = (spec.variables ?? []).map(({ expr }) => expr);
  const sources = [spec.when, spec.require, spec.modify_when, ...steps, ...variables];
  return sources.filter((source) => source !== undefined);
};
