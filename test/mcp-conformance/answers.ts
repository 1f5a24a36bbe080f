/** Where governance answers, so that a scenario differs from the same one without the proxy. */
import type { Answer } from "./outcomes.ts";

/** The end of the name of a pair that ran with the rules of `service.ts`. */
export const with_rules = ", with rules";

const by_rules = new RegExp(`${with_rules}$`);

export const answers: readonly Answer[] = [
  {
    pair: /2026-07-28 × fixtures/,
    scenario:
      /^((call|prompt) test_input_required_result_(elicitation|sampling|list_roots|prompt)( \(\d\))?|input-required-result-(basic-\w+|basic-list-roots|capability-check|non-tool-request|result-type|ignore-extra-params|missing-input-response|validate-input))$/,
    reason:
      "The proxy sends a requestState with each request for input, so that it knows the action again in the next round.",
  },
  {
    pair: /2026-07-28 × fixtures/,
    scenario: /^input-required-result-tampered-state$/,
    reason: "The proxy itself refuses a changed requestState, with the code that the server uses, too.",
  },
  {
    pair: /2025-11-25 × fixtures over HTTP/,
    scenario: /^server-sse-polling$/,
    reason:
      "The proxy keeps the client's stream open, and itself comes back to a server that ends its stream. So the client need not poll.",
  },
  {
    pair: /client/,
    scenario: /^call no-such-tool$/,
    reason:
      "The proxy itself refuses a tool that the server does not list, with the protocol's error for unknown tools.",
  },
  {
    pair: /client/,
    scenario: /^call write_file, with NUL$/,
    reason: "An intent cannot contain NUL, so the call cannot be decided and is not made.",
  },
  {
    pair: by_rules,
    scenario: /^(call test_simple_text|tools-call-simple-text)$/,
    reason: "A policy blocks the call: the model gets an error result with the reason.",
  },
  {
    pair: by_rules,
    scenario: /^(call test_image_content|tools-call-image)$/,
    reason: "A policy escalates the call: after the wait the model is asked to call again.",
  },
  {
    pair: by_rules,
    scenario: /^(call test_elicitation( \(2\))?|tools-call-elicitation)$/,
    reason: "A policy changes the arguments: the answer reports the change.",
  },
  {
    pair: by_rules,
    scenario: /^messages of the server$/,
    reason:
      "The proxy reports progress during the review, and the server asks the user in the words that the policy set.",
  },
];
