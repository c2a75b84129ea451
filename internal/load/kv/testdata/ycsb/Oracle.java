// Prints what YCSB itself computes. core.golden names the command.
import java.lang.reflect.Field;
import java.util.concurrent.ThreadLocalRandom;
import site.ycsb.Utils;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.generator.ZipfianGenerator;

public class Oracle {
  public static void main(String[] args) throws Exception {
    System.out.println("items " + ScrambledZipfianGenerator.ITEM_COUNT);
    System.out.println("zeta " + ScrambledZipfianGenerator.ZETAN);
    System.out.println("theta " + ZipfianGenerator.ZIPFIAN_CONSTANT);
    long[] numbers = {0, 1, 2, 3, 10, 255, 256, 999, 1000, 65535, 1000000, 4294967295L, 10000000000L, Long.MAX_VALUE};
    for (long n : numbers) {
      System.out.println("fnv " + n + " " + Utils.fnvhash64(n));
    }
    for (long records : new long[] {10, 1000, 123457}) {
      print("zipfian", records, new ZipfianGenerator(records));
      print("scrambled", records, new ScrambledZipfianGenerator(records));
    }
  }

  // The generators draw with ThreadLocalRandom, whose state this sets, so that
  // the number they will draw is known.
  static void print(String name, long records, NumberGenerator generator) throws Exception {
    Field state = Thread.class.getDeclaredField("threadLocalRandomSeed");
    state.setAccessible(true);
    ThreadLocalRandom random = ThreadLocalRandom.current();
    for (long seed = 1; seed <= 150; seed++) {
      state.setLong(Thread.currentThread(), seed);
      double u = random.nextDouble();
      state.setLong(Thread.currentThread(), seed);
      System.out.println(name + " " + records + " " + u + " " + generator.nextValue());
    }
  }
}
