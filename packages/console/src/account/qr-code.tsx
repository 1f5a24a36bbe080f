/** A QR code as one SVG path, which the content security policy allows. */
import { useMemo } from "react";
import { encode } from "uqr";

const quiet_modules = 4;

export function QrCode({ text }: { readonly text: string }) {
  const { path, size } = useMemo(() => {
    const { data } = encode(text, { border: quiet_modules });
    const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { path: squares.join(""), size: data.length };
  }, [text]);
  return (
    <svg viewBox={`0 0 ${size} ${size}`} width="220" height="220" role="img" aria-label="QR code of the secret">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
