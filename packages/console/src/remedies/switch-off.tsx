/** Switches off rules that hold actions only because a fact is missing. */
import type { AttentionItem, Membrane, Pack } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useClient } from "../api/session.tsx";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { usePacks } from "../parts/packs.ts";
import { useMembranes } from "../parts/shadow-banner.tsx";
import { Failed, Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { isOfPack } from "../policies/of-pack.ts";

type Rule = AttentionItem["rules"][number];

export function SwitchOff({ item, onClose }: { readonly item: AttentionItem; readonly onClose: () => void }) {
  const packs = usePacks();
  const membranes = useMembranes();
  const rules = item.rules.filter(({ policy_id }) => policy_id !== null);
  const [kept, setKept] = useState<ReadonlySet<string>>(new Set());
  const chosen = rules.filter(({ policy }) => !kept.has(policy));
  const act = useSwitchOff(chosen, packs.data ?? [], onClose);
  const toggle = (policy: string) => {
    const next = new Set(kept);
    if (!next.delete(policy)) next.add(policy);
    setKept(next);
  };
  return (
    <Dialog title={rules.length === 1 ? "Switch the rule off?" : "Switch rules off?"} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!act.isPending) act.mutate();
        }}
      >
        <p>
          {"These rules wait for the fact "}
          <span className="mono">
            <Data text={item.what.replace(/^facts\./, "")} chars_max={200} />
          </span>
          {". From the next decision on they stop nothing, not even when the fact is known. Open reviews stay open."}
        </p>
        <Loaded query={membranes} what="the membranes">
          {(all) => (
            <fieldset className="stack tight">
              <legend className="sr">Rules</legend>
              {rules.map((rule) => (
                <label key={rule.policy} className="check">
                  <input type="checkbox" checked={!kept.has(rule.policy)} onChange={() => toggle(rule.policy)} />
                  <span>
                    <Data text={rule.policy} chars_max={120} />{" "}
                    <span className="small muted">
                      <Data text={effectText(rule, all, packs.data ?? [])} />
                    </span>
                  </span>
                </label>
              ))}
            </fieldset>
          )}
        </Loaded>
        {act.error !== null && <Failed error={act.error} />}
        {act.data?.policy_id != null && (
          <p role="alert">
            <Data text={act.data.policy} chars_max={120} />
            {" has a newer version than the one in force, and only the newest can go to shadow. Nothing is changed. "}
            <Link to="/policies/$policy_id" params={{ policy_id: act.data.policy_id }}>
              Open the policy
            </Link>
            {" and save the version in force again, or activate the newest."}
          </p>
        )}
        <FormActions
          action="Switch off"
          disabled={chosen.length === 0 || packs.data === undefined || membranes.data === undefined || act.isPending}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}

/** Returns the membranes in which the pack's rule is on. */
function membranesWith(rule: string, membranes: readonly Membrane[], packs: readonly Pack[]): readonly Membrane[] {
  const pack = packs.find(({ rules }) => rules.some(({ name }) => name === rule));
  return membranes.filter(
    (each) => pack !== undefined && each.packs.includes(pack.name) && !each.rules_off.includes(rule),
  );
}

function effectText(rule: Rule, membranes: readonly Membrane[], packs: readonly Pack[]): string {
  if (!isOfPack(rule)) return "your policy: goes to shadow, so it is still recorded";
  const names = membranesWith(rule.policy, membranes, packs).map(({ name }) => name);
  return names.length === 0 ? "of a pack: off everywhere already" : `of a pack: off in ${names.join(", ")}`;
}

/** Returns a rule that cannot go to shadow: only the newest version can, and it may never have been in force. */
async function findNewer(client: Client, rules: readonly Rule[]): Promise<Rule | null> {
  for (const rule of rules) {
    if (rule.policy_id === null || isOfPack(rule)) continue;
    const { version, active_version } = await client.getPolicy(rule.policy_id);
    if (version !== active_version) return rule;
  }
  return null;
}

function useSwitchOff(chosen: readonly Rule[], packs: readonly Pack[], onDone: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const membranes = useMembranes();
  return useMutation({
    mutationFn: async () => {
      const newer = await findNewer(client, chosen);
      if (newer !== null) return newer;
      for (const rule of chosen) {
        if (rule.policy_id === null) continue;
        if (!isOfPack(rule)) {
          await client.activatePolicy(rule.policy_id, "shadow");
          continue;
        }
        for (const { membrane_id } of membranesWith(rule.policy, membranes.data ?? [], packs)) {
          // Reads the membrane again, because its list is saved as a whole.
          const { rules_off } = await client.getMembrane(membrane_id);
          if (!rules_off.includes(rule.policy))
            await client.changeMembrane(membrane_id, { rules_off: [...rules_off, rule.policy] });
        }
      }
      return null;
    },
    onSuccess: (newer) => {
      if (newer !== null) return;
      toasts.done("Switched off", "It applies from the next decision on.");
      onDone();
    },
    onSettled: () => {
      for (const changed of ["policies", "membranes", "attention", "audit"])
        void queries.invalidateQueries({ queryKey: [changed] });
    },
  });
}
