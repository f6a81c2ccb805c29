// The rows of a grid come in blocks: of a model with thousands of layers only those in sight are asked for.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Num } from "../../answers";
import { ask, keyOf, type Parameters } from "../../asking";
import type { Grid } from "./answers";

/** As many as the server sends at once. */
export const BLOCK = 200;

export type Blocks = ReadonlyMap<number, Num[][]>;

/** Which blocks hold these rows. */
export function blocksOf(rows: readonly number[]): number[] {
  return [...new Set(rows.map((row) => Math.floor(row / BLOCK)))].sort((one, other) => one - other);
}

/** The value of a row of the whole grid; undefined while its block is being read. */
export function valueIn(blocks: Blocks, row: number, column: number): Num | undefined {
  return blocks.get(Math.floor(row / BLOCK))?.[row % BLOCK]?.[column];
}

/** The first block came with the grid; the others are read when rows of theirs are wanted. */
export function useBlocks(parameters: Parameters, grid: Grid | null, wanted: readonly number[]): Blocks {
  const [blocks, setBlocks] = useState<Blocks>(new Map());
  const asked = useRef(new Set<number>());
  const key = keyOf("layers", parameters);
  useEffect(() => {
    asked.current = new Set([0]);
    setBlocks(new Map(grid ? [[0, grid.values]] : []));
  }, [grid]);
  useEffect(() => {
    const stop = new AbortController();
    for (const block of grid ? blocksOf(wanted) : []) {
      if (asked.current.has(block)) continue;
      asked.current.add(block);
      const current = asked.current;
      ask<Grid>("layers", { ...parameters, top: block * BLOCK }, stop.signal).then(
        (more) => current === asked.current && setBlocks((before) => new Map(before).set(block, more.values)),
        () => current.delete(block), // asked again when its rows come into sight again
      );
    }
    return () => stop.abort();
  }, [key, grid, blocksOf(wanted).join()]);
  return blocks;
}
