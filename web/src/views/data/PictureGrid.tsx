import { useMemo } from "preact/hooks";
import { toNumber } from "../../answers";
import { number } from "../../pieces/numbers";
import type { Sample } from "./answers";
import { PixelCanvas } from "../../pieces/PixelCanvas";
import { heat, inkOf, type Rgb } from "./colours";
import { bytesOf, paint, tilesOf, type Tile } from "./pixels";

/** The pictures of a batch, each with its label where there is one. */
export function PictureGrid({ sample, labels }: { sample: Sample; labels: (string | null)[] }) {
  const bytes = useMemo(() => bytesOf(sample.pixels ?? ""), [sample.pixels]);
  const [, , high = 0, wide = 0] = sample.kept;
  return (
    <ul class="data-pictures">
      {tilesOf(sample.kept).map((tile) => (
        <li key={`${tile.sample} ${tile.channel}`}>
          <PixelCanvas
            class="data-picture"
            width={wide}
            height={high}
            label={`Sample ${tile.sample + 1}${channelOf(tile)}: ${wide} by ${high} pixels, ${labels[tile.sample] ?? "no label known"}`}
            draw={(canvas) => paint(bytes, sample.kept, tile, inkOf(canvas, "--notfinite"))}
          />
          <Caption label={labels[tile.sample] ?? null} tile={tile} />
        </li>
      ))}
    </ul>
  );
}

function Caption({ label, tile }: { label: string | null; tile: Tile }) {
  return (
    <span class="data-caption" title={label ?? undefined}>
      {label ?? <span class="quiet">sample {tile.sample + 1}</span>}
      <span class="quiet">{channelOf(tile)}</span>
    </span>
  );
}

function channelOf(tile: Tile): string {
  return tile.channel === null ? "" : `, channel ${tile.channel + 1}`;
}

/** Classes of single pixels, by number. */
export function MaskGrid({ sample }: { sample: Sample }) {
  const [samples = 0, high = 0, wide = 0] = sample.kept;
  const values = (sample.numbers ?? []).map(toNumber);
  const [low, top] = [toNumber(sample.low), toNumber(sample.high)];
  const classes = [...new Set(values)].sort((one, other) => one - other);
  return (
    <>
      <ul class="data-pictures">
        {Array.from({ length: samples }, (_, place) => (
          <li key={place}>
            <PixelCanvas
              class="data-picture"
              width={wide}
              height={high}
              label={`Mask ${place + 1}: ${wide} by ${high} pixels, ${classes.length} different values in all`}
              draw={(canvas) => mapped(values.slice(place * high * wide, (place + 1) * high * wide), low, top, inkOf(canvas, "--notfinite"))}
            />
            <span class="data-caption quiet">sample {place + 1}</span>
          </li>
        ))}
      </ul>
      <p class="data-scale">
        {classes.slice(0, 12).map((each) => (
          <span key={each} class="data-class">
            <span class="data-swatch" style={{ background: `rgb(${heat((each - low) / (top - low || 1)).join(",")})` }} /> {number(each)}
          </span>
        ))}
        {classes.length > 12 ? `and ${classes.length - 12} more` : ""}
      </p>
    </>
  );
}

export function mapped(values: number[], low: number, high: number, odd: Rgb): Uint8ClampedArray<ArrayBuffer> {
  const made = new Uint8ClampedArray(values.length * 4);
  values.forEach((value, place) => {
    const shown = Number.isFinite(value) ? heat((value - low) / (high - low || 1)) : odd;
    made.set([...shown, 255], place * 4);
  });
  return made;
}
