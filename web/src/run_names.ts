// Names of runs in one parameter: separated by commas, each escaped like a part of an address, as the server reads them.

export function writeNames(names: readonly string[]): string {
  return names.map(encodeURIComponent).join(",");
}

export function readNames(said: string | undefined): string[] {
  return [...new Set((said ?? "").split(",").filter(Boolean).map(decoded))];
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // written by hand, with a stray %
  }
}
