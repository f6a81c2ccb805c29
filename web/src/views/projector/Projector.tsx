import { useMemo } from "preact/hooks";
import { useTheme } from "../../charts/palette";
import { choose } from "../../links";
import { Button } from "../../pieces/Button";
import { Choice } from "../../pieces/Choice";
import { count, number } from "../../pieces/numbers";
import { SearchField } from "../../pieces/SearchField";
import { Select } from "../../pieces/Select";
import { cloudOf, columnTitle, fingerprint, nameOf, placeOf, type Embedding } from "./answers";
import { useArrangement, type Way } from "./arranging";
import { Cloud } from "./Cloud";
import { colouringOf } from "./label_colours";
import { LabelPanel } from "./LabelPanel";
import type { Measure } from "./neighbours";
import { PointPanel, useNeighbours } from "./PointPanel";
import { matching } from "./searching";
import { useSprite } from "./sprite_hook";

const WAYS = [
  { value: "pca", title: "PCA", hint: "Along the directions in which the points differ most." },
  { value: "tsne", title: "t-SNE", hint: "So that near points stay near; distances between groups say little." },
] as const;
const SIZES = [
  { value: "2", title: "2D" },
  { value: "3", title: "3D" },
] as const;
const PERPLEXITIES = [5, 15, 30, 50].map((each) => ({ value: String(each), title: String(each), hint: "About how many neighbours count for each point." }));
const MOST_FOUND = 8;

interface Props {
  run: string;
  embedding: Embedding;
  chosen: Record<string, string>;
}

export function Projector({ run, embedding, chosen }: Props) {
  const theme = useTheme();
  const cloud = useMemo(() => cloudOf(embedding), [embedding]);
  const way: Way = chosen.way === "tsne" && embedding.points > 3 ? "tsne" : "pca";
  const size = chosen.dims === "3" ? 3 : 2;
  const perplexity = Number(PERPLEXITIES.find((each) => each.value === chosen.perplexity)?.value ?? 30);
  const key = `${run} ${embedding.tag} ${embedding.step} ${fingerprint(embedding)}`;
  const arranged = useArrangement(key, cloud, way, size, perplexity);
  const column = chosen.colour === "none" ? -1 : Math.min(Number(chosen.colour ?? 0) || 0, embedding.columns.length - 1);
  const colouring = useMemo(() => colouringOf(embedding.columns[column], isDark()), [embedding, column, theme]);
  const found = useMemo(() => matching(embedding, chosen.find ?? ""), [embedding, chosen.find]);
  const point = pointOf(chosen.point, embedding);
  const by: Measure = chosen.by === "cosine" ? "cosine" : "euclidean";
  const near = useNeighbours(run, embedding, cloud, point, by);
  const sprite = useSprite(run, embedding);
  const only = column >= 0 && chosen.only !== undefined ? chosen.only : null;
  const named = embedding.columns[column];
  const onlyNumber = only === null ? -1 : (named?.labels.indexOf(only) ?? -1);
  const isFaded = (row: number) => (found !== null && !found.has(row)) || (onlyNumber >= 0 && named?.of[row] !== onlyNumber);
  const pictures = sprite && chosen.pictures !== "no" ? sprite : null;
  return (
    <>
      <div class="projector-bar">
        <Choice label="Arranged by" options={WAYS} value={way} onChange={(value) => choose({ way: value === "pca" ? undefined : value })} />
        <Choice label="Shown in" quiet options={SIZES} value={size === 3 ? "3" : "2"} onChange={(value) => choose({ dims: value === "2" ? undefined : value })} />
        {way === "tsne" ? <Select label="Perplexity" options={PERPLEXITIES} value={String(perplexity)} onChange={(value) => choose({ perplexity: value })} /> : null}
        {embedding.columns.length ? <ColourBy embedding={embedding} column={column} /> : null}
        {sprite ? <Button pressed={pictures !== null} onClick={() => choose({ pictures: pictures ? "no" : undefined })}>Pictures</Button> : null}
      </div>
      {embedding.remarks.map((remark) => <p key={remark} class="projector-remark">{remark}</p>)}
      {way === "tsne" ? <Working arranged={arranged} points={embedding.points} /> : null}
      <div class="projector-both">
        <div>
          {arranged.places ? (
            <Cloud
              title={`${count(arranged.rows.length, "point")} of ${embedding.tag} at step ${embedding.step.toLocaleString("en-US")}, by ${way === "pca" ? "PCA" : "t-SNE"}`}
              places={arranged.places}
              rows={arranged.rows}
              inSpace={size === 3}
              colourOf={colouring.of}
              isFaded={isFaded}
              nameOf={(row) => nameOf(embedding, row, Math.max(0, column))}
              pictureOf={(row) => placeOf(embedding, row)}
              sprite={pictures}
              picked={point}
              marked={near.found.map(([row]) => row)}
              onPick={(row) => choose({ point: row === null ? undefined : String(row) })}
            />
          ) : (
            <div class="space-canvas projector-empty" />
          )}
          <p class="quiet projector-axes">{way === "pca" ? axesText(embedding, size) : TSNE_AXES}</p>
        </div>
        <aside class="projector-side" aria-label="Labels and the picked point">
          <Finding embedding={embedding} find={chosen.find ?? ""} found={found} column={Math.max(0, column)} />
          {named ? <LabelPanel title={columnTitle(named, column, embedding.columns.length)} colouring={colouring} only={only} /> : null}
          {point === null ? <p class="quiet">Press a point to see its nearest neighbours.</p> : (
            <PointPanel embedding={embedding} point={point} by={by} neighbours={near.found} error={near.error} sprite={sprite} column={Math.max(0, column)} />
          )}
        </aside>
      </div>
    </>
  );
}

const TSNE_AXES = "t-SNE's axes have no meaning: what is near here was near before; the distances between groups, and their sizes, say little.";

function ColourBy({ embedding, column }: { embedding: Embedding; column: number }) {
  const { columns } = embedding;
  const options = [...columns.map((each, at) => ({ value: String(at), title: columnTitle(each, at, columns.length) })), { value: "none", title: "nothing" }];
  return <Select label="Colour by" options={options} value={column < 0 ? "none" : String(column)} onChange={(value) => choose({ colour: value === "0" ? undefined : value, only: undefined })} />;
}

function Working({ arranged, points }: { arranged: ReturnType<typeof useArrangement>; points: number }) {
  const { progress, rows, places } = arranged;
  const some = rows.length < points ? `t-SNE arranges ${rows.length.toLocaleString("en-US")} of ${points.toLocaleString("en-US")} points, evenly chosen.` : "";
  if (!progress && places) return some ? <p class="projector-remark">{some}</p> : null;
  const share = progress?.share ?? 0;
  const what = progress?.what === "arranging" ? "Arranging the points" : "Looking for neighbours";
  return (
    <div class="projector-working" role="status">
      {some} {what}… {Math.floor(share * 100)} % <progress value={share} aria-label={what} />
      {places ? <Button onClick={arranged.stop}>Stop</Button> : null}
    </div>
  );
}

function Finding({ embedding, find, found, column }: { embedding: Embedding; find: string; found: ReadonlySet<number> | null; column: number }) {
  const some = found === null ? [] : [...found].slice(0, MOST_FOUND);
  const said = found === null ? {} : { found: `${count(found.size, "point")} of ${embedding.points.toLocaleString("en-US")}` };
  return (
    <div>
      <SearchField label={embedding.columns.length ? "Find a label" : "Find a point by its number"} value={find} onInput={(value) => choose({ find: value || undefined })} {...said} />
      <ul class="projector-list">
        {some.map((row) => (
          <li key={row}>
            <button type="button" onClick={() => choose({ point: String(row) })}>
              <span class="projector-name">{nameOf(embedding, row, column)}</span>
              <span class="projector-number">{placeOf(embedding, row).toLocaleString("en-US")}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function axesText(embedding: Embedding, size: number): string {
  const told = ["Right", "up", "towards you"].slice(0, Math.min(size, embedding.kept));
  const axes = told.map((where, at) => `${size === 3 ? "" : `${where}: `}component ${at + 1} (${number((embedding.shares[at] ?? 0) * 100, 3)} %)`);
  const all = embedding.shares.slice(0, size).reduce((sum, share) => sum + share, 0);
  return `${size === 3 ? "In space: " : ""}${axes.join(", ")}; together ${number(all * 100, 3)} % of the variance in ${embedding.dimensions.toLocaleString("en-US")} ${embedding.dimensions === 1 ? "dimension" : "dimensions"}.`;
}

function pointOf(said: string | undefined, embedding: Embedding): number | null {
  const row = said === undefined ? NaN : Number(said);
  return Number.isInteger(row) && row >= 0 && row < embedding.points ? row : null;
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
