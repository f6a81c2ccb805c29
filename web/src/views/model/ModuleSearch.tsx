import { useState } from "preact/hooks";
import { SearchField } from "../../pieces/SearchField";
import { count } from "../../pieces/numbers";
import { searchPaths } from "./openings";

interface Props {
  paths: readonly string[];
  onChoose: (path: string) => void;
  onSearch: (found: ReadonlySet<string> | null) => void;
}

const ALL = 3000;

/** Finds modules as one types; Enter takes the first. */
export function ModuleSearch({ paths, onChoose, onSearch }: Props) {
  const [said, setSaid] = useState("");
  const found = searchPaths(paths, said, ALL);
  const search = (text: string) => {
    setSaid(text);
    onSearch(text.trim() ? new Set(searchPaths(paths, text, ALL)) : null);
  };
  const take = (path: string | undefined) => {
    if (path === undefined) return;
    onChoose(path);
    search("");
  };
  const told = said.trim() ? (found.length ? count(found.length, "module") : "no module has this in its path") : undefined;
  return (
    <div class="model-search" onKeyDown={(event) => event.key === "Enter" && event.target instanceof HTMLInputElement && take(found[0])}>
      <SearchField label="Search modules" value={said} onInput={search} placeholder="encoder.3" {...(told ? { found: told } : {})} />
      {found.length ? (
        <ul class="model-found" aria-label="Modules found">
          {found.slice(0, 8).map((path) => (
            <li key={path}>
              <button type="button" title={path} onClick={() => take(path)}>
                {path}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
