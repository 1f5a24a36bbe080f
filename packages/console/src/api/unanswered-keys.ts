const unanswered_ms = 10 * 60_000;

/**
 * Idempotency keys of requests without an answer. The same request of the same person must keep its key, because the
 * service may have executed it.
 */
export function unansweredKeys() {
  const kept = new Map<string, string>();
  return {
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
