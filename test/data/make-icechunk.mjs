#!/usr/bin/env node
// make-icechunk.mjs DIR: what icechunk.tar.xz holds: repositories of spec 1 and 2 by the official library, source/, where their
// virtual chunks lie, specN.history, and expected.tsv: what that library and zarrita read of each version, or that they refuse it
// (see mounted/references.py). Needs @earthmover/icechunk (2.2.2) and zarrita (0.7.5). Ids differ at every run.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { Repository, Storage } from '@earthmover/icechunk'
import * as zarr from 'zarrita'

const top = process.argv[2], source = '/tmp/zarrfs-official/', url = 'file://' + source
const TYPES = {
  int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array,
}
const LETTERS = { int8: '|i1', uint8: '|u1', int16: '<i2', uint16: '<u2', int32: '<i4', uint32: '<u4', float32: '<f4', float64: '<f8' }
const blosc = { name: 'blosc', configuration: { cname: 'zstd', clevel: 5, shuffle: 'shuffle', typesize: 4, blocksize: 0 } }
const zstd = { name: 'zstd', configuration: { level: 3, checksum: false } }
const bytes = { name: 'bytes', configuration: { endian: 'little' } }
const changed = new Date('2026-01-01T00:00:00Z')
const rows = []

const wave = (type, n, k) => TYPES[type].from({ length: n }, (_, i) => Math.round(100 * Math.sin((i + 7 * k) / 9)) + (type[0] === 'u' ? 100 : 0) + k)

async function put(store, path, type, shape, chunks, values, codecs = [], fill = 0) {
  const dimensionNames = shape.map((length, d) => `d${d}_${length}`)
  const a = await zarr.create(zarr.root(store).resolve(path), {
    shape, chunkShape: chunks, dtype: type, codecs: [bytes, ...codecs], fillValue: fill, dimensionNames,
  })
  const stride = shape.map((_, d) => shape.slice(d + 1).reduce((x, y) => x * y, 1))
  if (values) await zarr.set(a, null, { data: values, shape, stride })
}

async function reshape(store, path, shape) {
  const doc = JSON.parse(Buffer.from(await store.get(path + '/zarr.json')))
  await store.set(path + '/zarr.json', Buffer.from(JSON.stringify({ ...doc, shape })))
}

// A shard of inner chunks of n elements each, of which every third is not there.
async function shard(store, path, at, values, n) {
  const none = (1n << 64n) - 1n, parts = [], index = []
  for (let i = 0, off = 0; i * n < values.length; i++) {
    const part = Buffer.from(values.slice(i * n, i * n + n).buffer)
    index.push(...(i % 3 < 2 ? [BigInt(off), BigInt(part.length)] : [none, none]))
    if (i % 3 === 2) continue
    parts.push(part)
    off += part.length
  }
  await store.set(`${path}/c/${at}`, Buffer.concat([...parts, Buffer.from(BigUint64Array.from(index).buffer)]))
}

async function sharded(store, path, length, chunk, inner) {
  const configuration = { chunk_shape: [inner], codecs: [bytes], index_codecs: [bytes], index_location: 'end' }
  const codecs = [{ name: 'sharding_indexed', configuration }]
  await zarr.create(zarr.root(store).resolve(path), { shape: [length], chunkShape: [chunk], dtype: 'float32', codecs, fillValue: 'NaN' })
}

async function virtual(store, path, n, chunk, refs, meant = url + 'raw.bin') {
  await put(store, path, 'float32', [n], [chunk])
  const ref = (_, i) => ({ index: [i], location: meant, offset: 4 * chunk * i, length: 4 * chunk, ...refs })
  const failed = await store.setVirtualRefs(path, Array.from({ length: n / chunk }, ref), true)
  if (failed) throw new Error('refused: ' + path)
}

// --- what is read ---

// zarrita asks for names in a form of its own: what it asks for is always the root
const below = (store, path) => ({
  get: async key => (await store.get(path + key)) ?? undefined,
  getRange: async (key, range) => (await store.getRange(path + key, range)) ?? undefined,
})

async function read(name, version, store) {
  for (const key of (await store.list()).sort()) {
    if (!key.endsWith('/zarr.json')) continue
    const path = key.slice(0, -'/zarr.json'.length), doc = JSON.parse(Buffer.from(await store.get(key)))
    if (doc.node_type !== 'array') continue
    let digest = 'MUST_FAIL_OR_UNSUPPORTED'
    try {
      const { data } = await zarr.get(await zarr.open.v3(zarr.root(below(store, path)), { kind: 'array' }))
      digest = createHash('sha256').update(Buffer.from(data.buffer)).digest('hex')
    } catch (e) { console.log(name, version, path, String(e.message).split('\n')[0]) }
    const shape = `(${doc.shape.join(', ')}${doc.shape.length === 1 ? ',' : ''})`
    rows.push([name + version, path, shape, LETTERS[doc.data_type], digest, ''].join('\t'))
  }
}

async function readAll(name, storage, snapshots) {
  const repo = await Repository.open(storage, null, { [url]: null })
  const session = async version => (await repo.readonlySession(version)).store
  await read(name, '', await session({ branch: 'main' }))
  for (const branch of await repo.listBranches()) if (branch !== 'main') await read(name, '#branch=' + branch, await session({ branch }))
  for (const tag of await repo.listTags()) if (tag !== 'shadow') await read(name, '#tag=' + tag, await session({ tag }))
  for (const snapshotId of snapshots) await read(name, '#snapshot=' + snapshotId, await session({ snapshotId }))
  rows.push([name + '#tag=dropped', 'grown', '(600,)', '<i2', 'MUST_FAIL_OR_UNSUPPORTED', 'a deleted tag'].join('\t'))
  const history = await repo.ancestry({ branch: 'main' })
  fs.writeFileSync(`${top}/${name}.history`, history.map(s => `${s.id}\t${s.message}\n`).join(''))
}

// --- what is written ---

async function make(name, spec) {
  const storage = await Storage.newLocalFilesystem(`${top}/${name}`), ids = []
  const split_sizes = [[{ path_matches: { regex: '/(temperature|grown)' } }, [{ condition: 'Any', num_chunks: 3 }]]]
  const repo = await Repository.create(storage, {
    inlineChunkThresholdBytes: 100, manifest: { splitting: { split_sizes } },
    virtualChunkContainers: { [url]: { urlPrefix: url, store: { type: 'LocalFileSystem', field0: source } } },
  }, spec, { [url]: null })
  await repo.saveConfig()
  const commit = async (message, work, how = 'commit', branch = 'main') => {
    const session = await repo.writableSession(branch)
    await work(session.store)
    ids.push(await session[how](message))
  }
  const move = async (message, moves) => {
    const session = await repo.rearrangeSession('main')
    for (const [from, to] of moves) await session.moveNode(from, to)
    ids.push(await session.commit(message))
  }

  await commit('shards, and groups', async store => {
    await zarr.create(zarr.root(store), { attributes: { title: name } })
    await zarr.create(zarr.root(store).resolve('types'), { attributes: {} })
    for (const type of ['int8', 'int32']) await put(store, 'types/' + type, type, [5, 6], [2, 4], wave(type, 30, 1), [], 7)
    await put(store, 'temperature', 'float32', [4, 12, 30], [2, 6, 16], wave('float32', 1440, 2), [blosc])
    await put(store, 'grown', 'int16', [600], [60], wave('int16', 600, 3), [zstd])
    for (const group of ['deep', 'deep/er']) await zarr.create(zarr.root(store).resolve(group), { attributes: {} })
    await put(store, 'deep/er/still', 'int32', [4], [2], wave('int32', 4, 4))
    await sharded(store, 'shards', 900, 300, 20)
    await shard(store, 'shards', 0, wave('float32', 300, 5), 20)
    await shard(store, 'shards', 2, wave('float32', 300, 6), 20)
  })
  await commit('narrower, and a chunk less', async store => {
    await reshape(store, 'grown', [250])
    await store.delete('temperature/c/1/0/1')
    await shard(store, 'shards', 1, wave('float32', 300, 7), 20)
  })
  await commit('wider', async store => {
    await reshape(store, 'grown', [1000])
    await store.set('grown/c/14', Buffer.from(await store.get('grown/c/1')))
  })
  await commit('a group where an array was, and an array where a group was', async store => {
    for (const path of ['shards', 'deep']) await store.deleteDir(path)
    await zarr.create(zarr.root(store).resolve('shards'), { attributes: {} })
    await put(store, 'shards/inner', 'uint8', [300], [150], wave('uint8', 300, 8))
    await put(store, 'deep', 'float64', [50], [50], wave('float64', 50, 9))
  })
  await repo.createBranch('dev', ids[1])
  await commit('on another branch', store => put(store, 'dev/only', 'uint16', [9], [4], wave('uint16', 9, 21)), 'commit', 'dev')
  for (const [i, tag] of ['v1', 'it works!', 'späte Version', '100%'].entries()) await repo.createTag(tag, ids[i])
  for (const tag of ['shadow', 'dropped']) await repo.createTag(tag, ids[0]) // of the first, a node has the name
  await repo.deleteTag('dropped')
  if (spec === 2) {
    await move('moved', [['/types', '/kinds'], ['/deep', '/kinds/deep'], ['/shards/inner', '/shards/still']])
    await commit('after the move', store => put(store, 'kinds/int8', 'int8', [7], [3], wave('int8', 7, 22)))
    await commit('amended', store => store.delete('temperature/c/0/0/0'), 'amend')
    await commit('on no branch', store => put(store, 'alone', 'int32', [2], [2], wave('int32', 2, 23)), 'flush')
  }
  await commit('names, types and virtual chunks', async store => {
    for (const type of Object.keys(TYPES)) await put(store, 'all/' + type, type, [5, 6], [2, 4], wave(type, 30, 1), [], 7)
    const doc = await store.get('all/int32/zarr.json')
    for (const [i, path] of ['with space', 'grün', 'c', 'z/c/c', 'a-b', 'a/b', 'ab', '.hidden', '@tag.shadow'].entries()) {
      await store.set(path + '/zarr.json', doc)
      await store.set(path + '/c/0/0', Buffer.from(wave('int32', 8, 10 + i).buffer))
    }
    await virtual(store, 'plain', 1200, 400, {})
    await virtual(store, 'many', 1010, 1, {})
    await virtual(store, 'escaped', 30, 10, {}, url + 'sub%20dir/%C3%BC.bin')
    await virtual(store, 'unchanged', 12, 4, { lastModified: changed })
    await virtual(store, 'changed', 12, 4, { lastModified: new Date('2025-12-31T23:59:59Z') })
    await virtual(store, 'another', 12, 4, { etagChecksum: 'd41d8cd98f00b204e9800998ecf8427e' })
    await virtual(store, 'gone', 12, 4, {}, url + 'gone.bin')
    await virtual(store, 'beyond', 6000, 2000, {})
    await put(store, 'grown', 'int16', [3, 4], [2, 3], wave('int16', 12, 24))
    await store.set('many/c/7', Buffer.from(wave('float32', 1, 20).buffer))
  })
  await readAll(name, storage, ids)
  for (const not_read of ['transactions', 'overwritten']) fs.rmSync(`${top}/${name}/${not_read}`, { recursive: true, force: true })
}

fs.mkdirSync(source + 'sub dir', { recursive: true })
fs.writeFileSync(source + 'raw.bin', Buffer.from(wave('float32', 3000, 0).buffer))
fs.writeFileSync(source + 'sub dir/ü.bin', Buffer.from(wave('float32', 30, 1).buffer))
for (const file of ['raw.bin', 'sub dir/ü.bin']) fs.utimesSync(source + file, changed, changed)
for (const spec of [1, 2]) {
  fs.mkdirSync(`${top}/spec${spec}`, { recursive: true })
  await make('spec' + spec, spec)
}
fs.cpSync(source, top + '/source', { recursive: true, preserveTimestamps: true })
fs.writeFileSync(top + '/expected.tsv', rows.join('\n') + '\n')
