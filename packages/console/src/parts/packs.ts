/** The packs that come with the service, read once for all places that look something up in them. */
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../api/session.tsx";

/** `wanted`: false where nothing is to be looked up. */
export function usePacks(wanted = true) {
  const client = useClient();
  return useQuery({
    queryKey: ["packs"],
    queryFn: async () => (await client.listPacks({ limit: 200 })).packs,
    enabled: wanted,
    staleTime: 600_000,
  });
}
