import { useQuery } from "@tanstack/react-query";
import { useClient } from "../api/session.tsx";

/** `wanted`: false if nothing needs them. */
export function usePacks(wanted = true) {
  const client = useClient();
  return useQuery({
    queryKey: ["packs"],
    queryFn: async () => (await client.listPacks({ limit: 200 })).packs,
    enabled: wanted,
    staleTime: 600_000,
  });
}
