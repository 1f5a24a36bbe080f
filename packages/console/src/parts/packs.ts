/** The packs that come with the service, read once for all places that look something up in them. */
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../api/session.tsx";

export function usePacks() {
  const client = useClient();
  return useQuery({
    queryKey: ["packs"],
    queryFn: async () => (await client.listPacks({ limit: 200 })).packs,
    staleTime: 600_000,
  });
}
