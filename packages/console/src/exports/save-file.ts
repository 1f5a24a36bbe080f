/** Hands a file to the browser's downloads. The browser keeps large blobs on disk. */
export function saveFile(name: string, type: string, parts: readonly Uint8Array[]): void {
  const address = URL.createObjectURL(new Blob([...parts] as BlobPart[], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads the blob after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
