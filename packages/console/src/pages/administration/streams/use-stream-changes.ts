import type { Stream } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../../api/session.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

/** `onDone` is called after a stream was added, and after success and failure of a removal. */
export function useStreamChanges(onDone: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const refresh = () => void queries.invalidateQueries({ queryKey: ["streams"] });
  const test = useMutation({
    mutationFn: ({ stream_id }: Pick<Stream, "stream_id">) => client.testStream(stream_id),
    onSuccess: ({ object, problem }) => {
      if (problem === null) toasts.done("The store took the test object", object);
      else toasts.told("The store did not take the test object", problem);
    },
    onError: toasts.failed,
  });
  const toggle = useMutation({
    mutationFn: ({ stream_id, active }: Stream) => client.changeStream(stream_id, { active: !active }),
    onSuccess: ({ active }) => toasts.done(active ? "Stream switched on" : "Stream switched off"),
    onError: toasts.failed,
    onSettled: refresh,
  });
  const remove = useMutation({
    mutationFn: ({ stream_id }: Stream) => client.deleteStream(stream_id),
    onSuccess: () => toasts.done("Stream removed"),
    onError: toasts.failed,
    onSettled: () => {
      onDone();
      refresh();
    },
  });
  /** Tests the store at once, because a wrong key would show only with the first object. */
  const added = (stream: Stream) => {
    onDone();
    refresh();
    test.mutate(stream);
  };
  return { test, toggle, remove, added };
}

export type StreamChanges = ReturnType<typeof useStreamChanges>;
