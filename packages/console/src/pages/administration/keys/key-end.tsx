import type { ApiKey } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient, useSession } from "../../../api/session.tsx";
import { Confirm } from "../../../parts/forms/dialog.tsx";
import { useShowSecret } from "../../../parts/forms/shown-secret.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { useToasts } from "../../../parts/toasts.tsx";

export interface KeyEnd {
  readonly act: "revoke" | "rotate";
  readonly key: ApiKey;
}

export function useKeyEnds(onSettled: () => void) {
  const client = useClient();
  const { caller, replaceKey } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const showSecret = useShowSecret();
  const settle = () => {
    onSettled();
    void queries.invalidateQueries({ queryKey: ["keys"] });
  };
  const revoke = useMutation({
    mutationFn: (key_id: string) => client.revokeApiKey(key_id),
    onSuccess: () => toasts.done("Key revoked", "Every later request with it is refused."),
    onError: toasts.failed,
    onSettled: settle,
  });
  const rotated = async (key_id: string, is_own: boolean) => {
    const { api_key } = await client.rotateApiKey(key_id);
    showSecret({
      title: `${is_own ? "Your" : "The"} new key; the old one is no longer valid`,
      about: "Store it now.",
      text: api_key,
      label: "Copy the key",
    });
    return api_key;
  };
  const rotate = useMutation({
    mutationFn: async (key_id: string) => {
      if (key_id === caller?.id) await replaceKey(() => rotated(key_id, true));
      else await rotated(key_id, false);
    },
    onError: toasts.failed,
    onSettled: settle,
  });
  return {
    busy: revoke.isPending || rotate.isPending,
    end: ({ act, key: { key_id } }: KeyEnd) => (act === "revoke" ? revoke : rotate).mutate(key_id),
  };
}

export function KeyEndQuestion({
  end: { act, key },
  ...question
}: {
  readonly end: KeyEnd;
  readonly busy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  const { caller } = useSession();
  return (
    <Confirm
      title={
        act === "revoke" ? "Revoke this key?" : key.key_id === caller?.id ? "Replace your key?" : "Replace this key?"
      }
      action={act === "revoke" ? "Revoke" : "Replace it"}
      tone={act === "revoke" ? "bad" : "primary"}
      {...question}
    >
      <p>
        <strong>
          <Data text={key.name ?? "unnamed"} />
        </strong>{" "}
        <span className="mono small muted">{key.key_id}</span>
      </p>
      <p>
        {act === "revoke"
          ? key.key_id === caller?.id
            ? "You are using this key: you will be signed out."
            : "The next request with it is refused. You cannot undo this."
          : key.key_id === caller?.id
            ? "The old key ends at once, and this tab uses the new one."
            : "The old key ends at once, so give the new one to its program now. It has the same settings, counts as made by you, and does not see the actions of the old key."}
      </p>
    </Confirm>
  );
}
