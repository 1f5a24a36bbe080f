import { Data } from "../tables/data.tsx";

export function ActionName({ type, verb }: { readonly type: string; readonly verb: string }) {
  return (
    <>
      <Data text={verb} chars_max={60} />
      <span className="small muted">
        {" "}
        <Data text={type} chars_max={60} />
      </span>
    </>
  );
}
