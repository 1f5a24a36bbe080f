import type { ReactNode } from "react";

export function Figure({
  name,
  value,
  about,
}: {
  readonly name: string;
  readonly value: string;
  readonly about: ReactNode;
}) {
  return (
    <div className="card figure">
      <span className="muted small">{name}</span>
      <b>{value}</b>
      <span className="small muted">{about}</span>
    </div>
  );
}
