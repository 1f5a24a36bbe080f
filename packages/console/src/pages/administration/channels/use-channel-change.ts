import type { Client } from "@countersign/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../../api/session.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

/** A change of a channel: on success it says so, reads the channels again and calls `onDone`. */
export function useChannelChange<Input>(
  said: string,
  change: (client: Client, input: Input) => Promise<unknown>,
  onDone: () => void,
) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: (input: Input) => change(client, input),
    onSuccess: () => {
      toasts.done(said);
      void queries.invalidateQueries({ queryKey: ["channels"] });
      onDone();
    },
  });
}
