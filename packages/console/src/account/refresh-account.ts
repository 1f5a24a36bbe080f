import { useQueryClient } from "@tanstack/react-query";

export function useRefreshAccount(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ["session"] });
}
