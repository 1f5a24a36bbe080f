import type { Policy } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useClient } from "../../api/session.tsx";
import { Confirm } from "../../parts/forms/dialog.tsx";
import { Failed } from "../../parts/states.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { readText } from "../../policies/document-text.ts";
import type { PolicyText } from "./policy-text.ts";

interface Saving {
  /** The version that may be replaced. */
  readonly over: number | undefined;
  /** Asks afterwards whether to activate the version. */
  readonly activates: boolean;
}

/** `save` takes the version that it may replace. If the service has a newer one, it saves nothing and sets `newer`. */
export function useSavePolicy(policy: Policy | null, { text, settle }: PolicyText) {
  const client = useClient();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const [newer, setNewer] = useState<number | null>(null);
  const save = useMutation({
    mutationFn: async ({ over }: Saving) => {
      const read = readText(text);
      if (!("policy" in read)) throw new Error("The text is not valid YAML.");
      const input = { policy: read.policy, ...(read.tests.length === 0 ? {} : { tests: read.tests }) };
      if (policy === null) return client.createPolicy(input);
      const { version } = await client.getPolicy(policy.policy_id);
      setNewer(version === over ? null : version);
      return version === over ? client.replacePolicy(policy.policy_id, input) : null;
    },
    onSuccess: async (after, { activates }) => {
      if (after === null) return;
      settle();
      queries.setQueryData(["policies", "one", after.policy_id], after);
      void queries.invalidateQueries({ queryKey: ["policies"] });
      toasts.done(`Saved as version ${after.version}`, "It decides nothing until you activate it.");
      if (policy === null || activates)
        await navigate({
          to: "/policies/$policy_id",
          params: { policy_id: after.policy_id },
          search: (activates ? { activate: String(after.version) } : {}) as never,
          ignoreBlocker: true,
        });
    },
  });
  return { save, newer, setNewer };
}

export function NewerVersionQuestion({
  version,
  busy,
  onConfirm,
  onClose,
}: {
  readonly version: number;
  readonly busy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  return (
    <Confirm
      title={`Save over version ${version}?`}
      action="Save mine as the newest"
      busy={busy}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>
        {`Someone saved version ${version} while you wrote. Your text does not contain its changes; it stays among the versions below.`}
      </p>
    </Confirm>
  );
}

export function SaveFailed({ error }: { readonly error: unknown }) {
  if (error instanceof ApiError && error.code === "policy_invalid")
    return <p className="late">The policy was not saved: fix the places marked above.</p>;
  return <Failed error={error} />;
}
