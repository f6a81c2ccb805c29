/** Hands a file made in the page to the reader. */
export function download(content: Blob | string, name: string): void {
  const address = typeof content === "string" ? content : URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  if (typeof content !== "string") setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** What every file system takes: letters, digits and a few marks. */
export function fileName(title: string, ending: string): string {
  const plain = title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+|-+$/g, "").slice(0, 80);
  return `${plain || "chart"}.${ending}`;
}
