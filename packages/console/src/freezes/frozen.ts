import { type Freeze, type FreezeInput, type FreezeKind, foldName } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useClient, useReads } from "../api/session.tsx";
import { useToasts } from "../parts/toasts.tsx";

export interface FreezeTarget {
  readonly kind: FreezeKind;
  /** The agent_id or key_id; empty for the organization. */
  readonly id: string;
}

export function useFreezes() {
  const client = useClient();
  const reads = useReads();
  return useQuery({ queryKey: ["freezes"], queryFn: () => client.listFreezes(), enabled: reads });
}

/** Returns the freeze of this target itself, not of its organization. */
export function freezeOf(freezes: readonly Freeze[], { kind, id }: FreezeTarget): Freeze | undefined {
  return freezes.find((freeze) => {
    if (freeze.kind !== kind || kind === "organization") return freeze.kind === kind;
    return kind === "agent" ? foldName(freeze.name) === foldName(id) : freeze.name === id;
  });
}

export function targetName({ kind, id }: FreezeTarget): string {
  return kind === "organization" ? "the organization" : `the ${kind} ${id}`;
}

function freeze(client: Client, { kind, id }: FreezeTarget, input: FreezeInput) {
  if (kind === "agent") return client.freezeAgent(id, input);
  return kind === "key" ? client.freezeKey(id, input) : client.freezeOrganization(input);
}

function unfreeze(client: Client, { kind, id }: FreezeTarget, reason: string) {
  if (kind === "agent") return client.unfreezeAgent(id, { reason });
  return kind === "key" ? client.unfreezeKey(id, { reason }) : client.unfreezeOrganization({ reason });
}

export function useFreezing(target: FreezeTarget, onDone: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const settle = () => {
    for (const queryKey of [["freezes"], ["escalations"], ["intents"], ["agents"]])
      void queries.invalidateQueries({ queryKey });
  };
  const begin = useMutation({
    mutationFn: (input: FreezeInput) => freeze(client, target, input),
    onSuccess: () => {
      toasts.done("Frozen", "It is in force on every node.");
      onDone();
    },
    onSettled: settle,
  });
  const end = useMutation({
    mutationFn: (reason: string) => unfreeze(client, target, reason),
    onSuccess: ({ unfrozen }) => {
      if (unfrozen) toasts.done("Unfrozen");
      else toasts.told("A second person must confirm", "It stays frozen until a different admin unfreezes it, too.");
      onDone();
    },
    onSettled: settle,
  });
  return { begin, end };
}
