import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.ConsistencyLevel;
import org.apache.cassandra.db.Keyspace;
import org.apache.cassandra.db.SerializationHeader;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.SSTableTxnWriter;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.service.CassandraDaemon;
import org.apache.cassandra.service.StorageService;
import org.apache.cassandra.utils.ByteBufferUtil;

/**
 * A node of Cassandra that has its share of the records of scalebench's key-value workload
 * before it accepts clients. The records are written once, as one sorted table without a log.
 * The volume keeps links to the files, and each later start begins with exactly these.
 *
 * <p>Argument: the addresses of all nodes, with commas. Environment: SCALEBENCH_INDEX,
 * SCALEBENCH_VOLUME_DATA, RECORDS, FIELDS, FIELD_SIZE (bytes), CHUNK (KiB).
 *
 * <p>Records must be what package internal/load/kv expects: its reader verifies every byte.
 */
public final class Node {
  private static final String KEYSPACE = "scalebench_kv", RECORDS = "scalebench_kv", STATE = "scalebench_kv_state";
  private static final String MARK = "made by scalebench, which may drop it";

  private final int index, nodes, fields, fieldSize, chunk;
  private final long records;

  private Node(int nodes) {
    this.nodes = nodes;
    index = number("SCALEBENCH_INDEX");
    records = number("RECORDS");
    fields = number("FIELDS");
    fieldSize = number("FIELD_SIZE");
    chunk = number("CHUNK");
  }

  private static int number(String variable) {
    return Integer.parseInt(System.getenv(variable));
  }

  public static void main(String[] args) throws Exception {
    String[] addresses = args[0].split(",");
    Node node = new Node(addresses.length);
    // The next start begins with the records as they were: what is written since need not be flushed.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(143)));
    System.setProperty("cassandra.initial_token", Long.toString(node.lastToken()));
    System.setProperty("cassandra.start_native_transport", "false");
    if (node.index > 0) {
      await(() -> accepts(addresses[0], 7000)); // without its seed a node gives up
    }
    new CassandraDaemon().activate();
    if (node.index == 0) {
      node.createTables();
    }
    await(() -> metadata(RECORDS) != null); // which is created last
    node.describe();
    node.load();
    StorageService.instance.startNativeTransport();
  }

  private static void await(BooleanSupplier ready) throws InterruptedException {
    while (!ready.getAsBoolean()) {
      Thread.sleep(100);
    }
  }

  private static boolean accepts(String address, int port) {
    try (Socket s = new Socket()) {
      s.connect(new InetSocketAddress(address, port), 1000);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private static TableMetadata metadata(String table) {
    return Schema.instance.getTableMetadata(KEYSPACE, table);
  }

  /** The nodes divide the tokens evenly; this is the last one of this node's. */
  private long lastToken() {
    return index == nodes - 1 ? Long.MAX_VALUE : Long.MIN_VALUE + (index + 1) * Long.divideUnsigned(-1, nodes);
  }

  /** Token of a key, or Long.MIN_VALUE (which no key has) where another node has the key. */
  private long ownToken(ByteBuffer key) {
    long token = Murmur3Partitioner.instance.getToken(key).token;
    long width = Long.divideUnsigned(-1, nodes);
    long owner = Math.min(Long.divideUnsigned(token - Long.MIN_VALUE - 1, width), nodes - 1);
    return owner == index ? token : Long.MIN_VALUE;
  }

  private void createTables() {
    String columns = IntStream.range(0, fields).mapToObj(i -> "field" + i + " text").collect(Collectors.joining(", "));
    for (String statement : new String[] {
      "CREATE KEYSPACE scalebench_kv WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
      "CREATE TABLE scalebench_kv.scalebench_kv_state (id int PRIMARY KEY, description text) WITH comment = '"
        + MARK + "'",
      "CREATE TABLE scalebench_kv.scalebench_kv (k text PRIMARY KEY, " + columns + ") WITH comment = '" + MARK
        + "' AND compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': " + chunk + "}",
    }) {
      QueryProcessor.process(statement, ConsistencyLevel.ONE);
    }
  }

  /** Writes the description by which scalebench knows that the records are complete. */
  private void describe() {
    if (ownToken(ByteBufferUtil.bytes(0)) == Long.MIN_VALUE) {
      return;
    }
    PartitionUpdate.SimpleBuilder b = PartitionUpdate.simpleBuilder(metadata(STATE), 0).timestamp(1);
    String form = "format=1 records=%d fields=%d fieldsize=%d keys=hashed";
    b.row().add("description", String.format(form, records, fields, fieldSize));
    b.buildAsMutation().apply();
  }

  @SuppressWarnings("deprecation") // loadNewSSTables has no successor that is public
  private void load() throws IOException {
    ColumnFamilyStore table = Keyspace.open(KEYSPACE).getColumnFamilyStore(RECORDS);
    Path own = table.getDirectories().getDirectoryForNewSSTables().toPath();
    Path kept = Path.of(System.getenv("SCALEBENCH_VOLUME_DATA"), "records-" + records + "-" + chunk);
    if (Files.isDirectory(kept)) {
      link(kept, own);
      table.loadNewSSTables();
      return;
    }
    write(table);
    Path made = kept.resolveSibling(kept.getFileName() + ".new");
    Files.createDirectory(made);
    link(own, made);
    Files.move(made, kept, StandardCopyOption.ATOMIC_MOVE);
  }

  private static void link(Path from, Path to) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(from, Files::isRegularFile)) {
      for (Path f : files) {
        Files.createLink(to.resolve(f.getFileName()), f);
      }
    }
  }

  private void write(ColumnFamilyStore table) {
    TableMetadata metadata = table.metadata();
    long[] numbers = inOrder();
    Descriptor own = table.newSSTableDescriptor(table.getDirectories().getDirectoryForNewSSTables());
    SerializationHeader header = SerializationHeader.makeWithoutStats(metadata);
    try (SSTableTxnWriter w = SSTableTxnWriter.create(table, own, numbers.length, 0, null, false, header)) {
      for (long record : numbers) {
        PartitionUpdate.SimpleBuilder b = PartitionUpdate.simpleBuilder(metadata, key(record)).timestamp(1);
        Row.SimpleBuilder row = b.row();
        for (int field = 0; field < fields; field++) {
          row.add("field" + field, value(record, field));
        }
        w.append(b.build().unfilteredIterator());
      }
      table.addSSTables(w.finish(true));
    }
  }

  /** Numbers of the records that this node has, by token. */
  private long[] inOrder() {
    long[] tokens = new long[1 << 16];
    int n = 0;
    for (long record = 0; record < records; record++) {
      long token = ownToken(ByteBufferUtil.bytes(key(record)));
      if (token != Long.MIN_VALUE) {
        if (n == tokens.length) {
          tokens = Arrays.copyOf(tokens, n + n / 2);
        }
        tokens[n++] = token;
      }
    }
    tokens = Arrays.copyOf(tokens, n);
    Arrays.sort(tokens);
    long[] numbers = new long[n];
    for (long record = 0; record < records; record++) {
      long token = ownToken(ByteBufferUtil.bytes(key(record)));
      if (token != Long.MIN_VALUE) {
        numbers[Arrays.binarySearch(tokens, token)] = record;
      }
    }
    return numbers;
  }

  /** As kv.Dataset.Key: a hash (FNV-1a) scatters neighbours. */
  private static String key(long record) {
    long hash = 0xcbf29ce484222325L;
    for (int i = 0; i < 8; i++) {
      hash = (hash ^ record >>> 8 * i & 0xff) * 1099511628211L;
    }
    return "user" + Math.abs(hash);
  }

  /** As fill in package kv, of version 0: 6 random bits (SplitMix64) a character. */
  private String value(long record, int field) {
    ByteBuffer out = ByteBuffer.allocate((fieldSize + 7) / 8 * 8).order(ByteOrder.LITTLE_ENDIAN);
    out.putLong(printable(0));
    for (long state = mix(mix(record) ^ (long) field << 48); out.hasRemaining();) {
      state += 0x9e3779b97f4a7c15L;
      out.putLong(printable(mix(state)));
    }
    return new String(out.array(), 0, fieldSize, StandardCharsets.ISO_8859_1);
  }

  private static long printable(long bits) {
    return (bits & 0x3f3f3f3f3f3f3f3fL) + 0x3030303030303030L;
  }

  private static long mix(long z) {
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }
}
