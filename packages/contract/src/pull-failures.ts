/** Why a context source gave no facts: `reason` of an unknown fact and of the audit record. */

/** Each text ends a sentence that begins "missing, because". */
export const pullFailures = {
  source_timeout: "the context source did not answer in time",
  source_unreachable: "the context source could not be reached",
  source_refused: "the service may not call the address of the context source",
  source_error: "the context source answered with another status than 200 or 204",
  source_too_large: "the context source's answer is too large",
  source_invalid: "the context source did not answer with a valid context document",
  source_busy: "too many requests to the context source were open",
  source_paused: "the context source failed several times in a row, so the service pauses for some seconds",
  source_secret: "the context source's secret was sealed with a master key that this service does not have",
} as const satisfies Record<string, string>;

export type PullFailure = keyof typeof pullFailures;
