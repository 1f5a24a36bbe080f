/** Binds a key. Starts with its current bindings, or with those that fit its recent submissions. */
import type { ApiKey, KeyBindingsInput } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useClient } from "../../../api/session.tsx";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { useMembranes } from "../../../parts/shadow-banner.tsx";
import { Failed, Loaded } from "../../../parts/states.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { useToasts } from "../../../parts/toasts.tsx";
import { BindingFields, bindingsIn, usualBindings } from "./binding-fields.tsx";

/** `key_id` null: no key is chosen. */
export function useObserved(key_id: string | null) {
  const client = useClient();
  return useQuery({
    queryKey: ["observed", key_id],
    queryFn: () => (key_id === null ? null : client.getObservedBindings(key_id)),
    staleTime: 0,
  });
}

export function BindDialog({ bound, onClose }: { readonly bound: ApiKey; readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const membranes = useMembranes();
  const observed = useObserved(bound.bindings === null ? bound.key_id : null);
  const bind = useMutation({
    mutationFn: (bindings: KeyBindingsInput | null) => client.bindApiKey(bound.key_id, bindings),
    onSuccess: ({ bindings }) => {
      onClose();
      toasts.done(bindings === null ? "Key unbound" : "Key bound", "This applies from its next request on.");
      void queries.invalidateQueries({ queryKey: ["keys"] });
      void queries.invalidateQueries({ queryKey: ["overview"] });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    bind.mutate(bindingsIn(new FormData(event.currentTarget), { ...bound, before: bound.bindings }));
  };
  return (
    <Dialog title="Bind the key" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>
          <strong>
            <Data text={bound.name ?? "unnamed"} />
          </strong>{" "}
          <span className="mono small muted">{bound.key_id}</span>
        </p>
        <Loaded query={membranes} what="the membranes">
          {(known) => (
            <Loaded query={observed} what="recent submissions of the key">
              {(seen) => (
                <>
                  {seen !== null && (
                    <p className="small muted">
                      {seen.bindings === null
                        ? "The key submitted nothing in the last 30 days."
                        : `Filled in from the key's ${seen.decisions.toLocaleString("en")} decisions in the last 30 days.`}
                    </p>
                  )}
                  <BindingFields
                    role={bound.role}
                    membranes={known}
                    defaults={bound.bindings ?? seen?.bindings ?? usualBindings(known)}
                    fixed_agent={bound.scope === "agent"}
                  />
                  {bind.error !== null && <Failed error={bind.error} />}
                  <FormActions action="Bind" disabled={bind.isPending} onClose={onClose} />
                </>
              )}
            </Loaded>
          )}
        </Loaded>
      </form>
    </Dialog>
  );
}
