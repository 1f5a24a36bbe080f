/** How long a request that had no answer is waited for to be sent again. */
const unanswered_ms = 10 * 60_000;

/**
 * The idempotency keys of requests that had no answer. The service may have done what they asked for: sent again by the
 * same person with the same words, they are the same request, not another one.
 */
export function unansweredKeys() {
  const kept = new Map<string, string>();
  return {
    /** The key to send this request with: that of its first try, or the one it has now. */
    keyOf(request: string, key: string): string {
      const before = kept.get(request);
      if (before !== undefined) return before;
      kept.set(request, key);
      setTimeout(() => kept.get(request) === key && kept.delete(request), unanswered_ms);
      return key;
    },
    answered: (request: string) => void kept.delete(request),
  };
}
