import type { PolicyCheck } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useClient } from "../../api/session.tsx";
import { type Mark, marksOf, readText } from "../../policies/document-text.ts";

export interface Checked {
  readonly marks: readonly Mark[];
  readonly checking: boolean;
  readonly error: unknown;
  readonly has_comments: boolean;
  readonly tests: number;
}

const check_delay_ms = 350;

/** Checks the text `check_delay_ms` after the last change. */
export function useCheck(text: string): Checked {
  const client = useClient();
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), check_delay_ms);
    return () => clearTimeout(timer);
  }, [text]);
  const read = useMemo(() => readText(settled), [settled]);
  const query = useQuery<PolicyCheck>({
    queryKey: ["policy-check", settled],
    queryFn: () => client.checkPolicy("policy" in read ? { policy: read.policy, tests: read.tests } : { policy: {} }),
    enabled: "policy" in read,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    placeholderData: (before) => before,
  });
  return useMemo(() => {
    if ("marks" in read)
      return {
        marks: read.marks,
        checking: settled !== text,
        error: null,
        has_comments: false,
        tests: 0,
      };
    const sent = read.tests.length === 0 ? read.policy : { ...read.policy, tests: read.tests };
    const { diagnostics = [], warnings = [] } = query.data ?? {};
    const marks = () => [
      ...marksOf(settled, sent, diagnostics, "error"),
      ...marksOf(settled, sent, warnings, "warning"),
    ];
    return {
      marks: query.isPlaceholderData ? [] : marks(),
      checking: settled !== text || query.isFetching,
      error: query.error,
      has_comments: read.has_comments,
      tests: read.tests.length,
    };
  }, [read, settled, text, query.data, query.isPlaceholderData, query.isFetching, query.error]);
}
