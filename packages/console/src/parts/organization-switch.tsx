import type { OrganizationChange, OrganizationSettings } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
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
  const query = useQuery({ queryKey: ["organization"], queryFn: () => client.getOrganization() });
  const save = useMutation({
    mutationFn: (on: boolean) => client.changeOrganization(change(on)),
    onSuccess: (settings) => {
      queries.setQueryData(["organization"], settings);
      onChanged?.();
    },
    onError: toasts.failed,
  });
  return (
    <Loaded query={query} what="the setting">
      {(settings) => (
        <label className="check">
          <input
            type="checkbox"
            checked={save.isPending ? save.variables : isOn(settings)}
            disabled={!admin || save.isPending}
            onChange={(event) => save.mutate(event.target.checked)}
          />
          {` ${label}`}
        </label>
      )}
    </Loaded>
  );
}
