/** Why no facts came from an organization's context source: `reason` of an unknown fact, and of the audit row. */

/** Every reason, as the end of "missing, because …". Source: api.md §5. */
export const pullFailures = {
  source_timeout: "the context source did not answer in time",
  source_unreachable: "the context source could not be reached",
  source_refused: "the context source has an address that the service may not call",
  source_error: "the context source answered with another status than 200 or 204",
  source_too_large: "the context source's answer is too large",
  source_invalid: "the context source did not answer with a valid context document",
  source_busy: "too many questions to the context source were open",
  source_paused: "the context source failed several times in a row and is left alone for some seconds",
  source_secret: "the context source's secret was sealed with another master key than this service has",
} as const satisfies Record<string, string>;

/** One of the reasons. */
export type PullFailure = keyof typeof pullFailures;
