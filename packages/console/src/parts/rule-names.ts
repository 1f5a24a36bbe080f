import { useQuery } from "@tanstack/react-query";
import { useClient, useReads } from "../api/session.tsx";
import { usePacks } from "./packs.ts";

/** Returns the names of the newest policies and of the packs' rules. Reads nothing unless `wanted`. */
export function useRuleNames(wanted: boolean): readonly string[] {
  const client = useClient();
  const reads = useReads();
  const packs = usePacks(reads && wanted);
  const policies = useQuery({
    queryKey: ["policies", "names"],
    queryFn: async () => (await client.listPolicies({ limit: 200 })).policies.map(({ name }) => name),
    enabled: reads && wanted,
    staleTime: 60_000,
  });
  return [...(policies.data ?? []), ...(packs.data ?? []).flatMap((pack) => pack.rules.map(({ name }) => name))];
}
