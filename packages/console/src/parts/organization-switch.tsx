import type { OrganizationChange, OrganizationSettings } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { Loaded } from "./states.tsx";
import { useToasts } from "./toasts.tsx";

export function OrganizationSwitch({
  label,
  isOn,
  change,
  onChanged,
}: {
  readonly label: string;
  readonly isOn: (settings: OrganizationSettings) => boolean;
  readonly change: (on: boolean) => OrganizationChange;
  readonly onChanged?: () => void;
}) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const admin = useMay("admin");
  /** Set in the click itself. A mutation reports that it is pending a moment later, and the box would show the old value until then. */
  const [wanted, setWanted] = useState<boolean | null>(null);
  const query = useQuery({ queryKey: ["organization"], queryFn: () => client.getOrganization() });
  const save = useMutation({
    mutationFn: (on: boolean) => client.changeOrganization(change(on)),
    onSuccess: (settings) => {
      queries.setQueryData(["organization"], settings);
      onChanged?.();
    },
    onError: toasts.failed,
    onSettled: () => setWanted(null),
  });
  return (
    <Loaded query={query} what="the setting">
      {(settings) => (
        <label className="check">
          <input
            type="checkbox"
            checked={wanted ?? isOn(settings)}
            disabled={!admin || wanted !== null}
            onChange={(event) => {
              setWanted(event.target.checked);
              save.mutate(event.target.checked);
            }}
          />
          {` ${label}`}
        </label>
      )}
    </Loaded>
  );
}
