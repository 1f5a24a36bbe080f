import { useQuery } from "@tanstack/react-query";
import { useClient, useReads } from "../api/session.tsx";

/** Reads the things that need a person now, for the overview and the queue. */
export function useAttention() {
  const client = useClient();
  return useQuery({
    queryKey: ["attention"],
    queryFn: async () => (await client.getAttention()).items,
    refetchInterval: 20_000,
    enabled: useReads(),
  });
}
